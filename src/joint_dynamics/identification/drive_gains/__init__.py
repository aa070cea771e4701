"""Drive gains and payload from loaded and unloaded recordings [G II.B, III]."""
