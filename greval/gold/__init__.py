"""Gold: whether what should have been retrieved, walked and answered is written down rightly."""

from greval.datasets.gold_join import with_gold
from greval.gold.checking import check_gold
from greval.gold.finding import Finding
from greval.gold.holdings import Holdings

__all__ = ["Finding", "Holdings", "check_gold", "with_gold"]
