"""The version, where every module can ask for it without importing the package's public names."""

VERSION = "0.1.0.dev0"
