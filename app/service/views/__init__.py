"""What clients and pages read: rows and models as wire schemas and documents."""
