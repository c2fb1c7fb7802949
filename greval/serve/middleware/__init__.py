"""What every request passes: request log, keys, body limits, admission, cancellation."""
