"""Chat Completions of OpenAI, for any client that wants its conversations fitted by its base URL."""
