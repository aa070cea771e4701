"""One Recording of aligned arrays, from rosbag2, CSV or live topics."""
