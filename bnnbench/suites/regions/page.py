"""x"""
PAGES = ()
