"""A client of Holdfast, the inventory reservation engine. README.md has a whole small shop.

`Holdfast` is for threads, `AsyncHoldfast` for asyncio, `Receiver` for webhooks. `holdfast.models` has a type for each
body of the contract.
"""
from .aio import AsyncHoldfast, AsyncListing
from .client import Holdfast, Listing
from .errors import HoldfastError
from .exchange import VERSION as __version__
from .webhook import Receiver

__all__ = ['AsyncHoldfast', 'AsyncListing', 'Holdfast', 'HoldfastError', 'Listing', 'Receiver', '__version__']
