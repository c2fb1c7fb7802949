from .case_reader import CaseReader as CaseReader
from .case_reader import read_cases as read_cases
from .field_names import FIELD_ALIASES as FIELD_ALIASES
from .row_faults import RowFault as RowFault
