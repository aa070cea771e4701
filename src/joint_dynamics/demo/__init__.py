"""The demonstration: a simulated robot excited, recorded, identified, estimated and fed forward over real ROS 2.

Each node its own process.
"""
