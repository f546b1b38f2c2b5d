"""Blob storage: large bytes, such as recordings, outside the database behind one interface.

`BlobStore` in `base` is the interface, `FolderBlobs` in `folder` keeps each blob as a file.
"""
