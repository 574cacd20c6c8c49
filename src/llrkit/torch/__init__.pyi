from .detection_metrics import DetectionMetrics as DetectionMetrics
