"""The words that every room shares: plain values, no behaviour beyond what their meaning implies."""
