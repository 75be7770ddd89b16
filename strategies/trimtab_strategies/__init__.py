"""The strategies that ship with Trimtab. They use the sdk and nothing else, like anyone's."""
