"""Storage backends: where resume logs are kept, and the promises they keep."""
