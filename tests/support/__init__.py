"""Code that several test files share: a test file imports from here, never from another one."""
