"""The mathematics: arrays in, arrays out; no files, no network, no clock that matters."""
