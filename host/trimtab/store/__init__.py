"""Where chats live: the protocol of a store, and the one that comes with Trimtab."""
