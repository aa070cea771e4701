"""ROS 2 nodes: parameters, topics, services, lifecycle; no mathematics. Only this package imports rclpy."""
