"""``setuptools``, ``packaging.version``, ``shutil``."""
