"""Masks secrets in command lines and other text, because people share recordings and reports.

Secrets are recognised by their names (`--api-key`, `password=`), by known forms (`hf_...`) and by their place
in a URL. It is better to mask a harmless value than to leave a secret; but what is measured in keys, tokens
and passes (`--max-tokens 100`) is kept.
"""
