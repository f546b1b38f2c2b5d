"""Tests of app/service/demo."""
