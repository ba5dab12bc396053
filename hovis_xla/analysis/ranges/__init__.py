"""Integer range analysis of Functions: intervals, their arithmetic, and facts from tests, types and loops."""
