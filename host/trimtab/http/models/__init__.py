"""The bodies of requests and answers, as the OpenAPI description shows them."""
