"""The library's classes, with the signatures of the designs; each method calls one flow."""
