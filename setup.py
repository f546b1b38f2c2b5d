"""What `pyproject.toml` cannot say: the folder `alembic/` is installed as `app/migrations`."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["app*"]), "app.migrations", "app.migrations.versions"],
    package_dir={"app.migrations": "alembic"},
    package_data={
        "app.migrations": ["script.py.mako"],
        "app.web": ["templates/*.html", "static/*", "static/*/*"],
    },
)
