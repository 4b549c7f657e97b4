"""Inputs that once were read wrong, or refused without a fix that works."""
