"""What YTsaurus has itself, read into a policy."""
