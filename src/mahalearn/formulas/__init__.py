"""The mathematics as pure functions of arrays: numpy and scipy only."""
