"""Gold: whether what should have been retrieved, walked and answered is written down rightly."""

from greval.gold.checking import check_gold
from greval.gold.finding import Finding
from greval.gold.holdings import Holdings
from greval.gold.joining import with_gold

__all__ = ["Finding", "Holdings", "check_gold", "with_gold"]
