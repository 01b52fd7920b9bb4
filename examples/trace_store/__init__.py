"""A small trace store: takes traces by OpenTelemetry's protocol, gives them by Tempo's query API."""
