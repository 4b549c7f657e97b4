"""The field's own price sources as rows of our tables, with source, version and date; nothing is left out silently."""
