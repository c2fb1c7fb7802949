"""What the routes share: metric library, judges, uploads, computed figures."""
