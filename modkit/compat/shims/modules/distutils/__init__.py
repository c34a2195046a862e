"""``setuptools``; here the modules that programs use, without those of installers."""
