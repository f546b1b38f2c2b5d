# Plaudit as an image: built in one stage, run in the next by a user who may write only to /data and
# to the cache of compiled code. tests/test_package.py carries out these instructions without Docker.
FROM python:3.11-slim AS build
ENV NUMBA_CACHE_DIR=/var/cache/plaudit
WORKDIR /src
COPY pyproject.toml setup.py README.md requirements.lock ./
COPY alembic ./alembic
COPY client ./client
COPY app ./app
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels ./client .
RUN python -m venv --without-pip /opt/plaudit
RUN pip --python /opt/plaudit/bin/python install --no-cache-dir --constraint requirements.lock \
    /wheels/plaudit_client-*.whl "plaudit[postgres] @ file://$(echo /wheels/plaudit-*.whl)"
# Compiled code is kept for a source file of one exact age. Layers of an image keep whole seconds only.
RUN find /opt/plaudit/lib -path '*/site-packages/app/*' -name '*.py' \
    -exec sh -c 'touch --date="$(stat --format=@%Y "$1")" "$1"' sh {} ';'
# -I: the installed package, not the sources in this folder.
RUN /opt/plaudit/bin/python -I -c "from app.planning.warm_up import warm_up; warm_up()"

FROM python:3.11-slim
ENV PATH=/opt/plaudit/bin:$PATH
ENV PYTHONUNBUFFERED=1
ENV NUMBA_CACHE_DIR=/var/cache/plaudit
ENV PLAUDIT_HOST=0.0.0.0
ENV PLAUDIT_DATABASE_URL=sqlite:////data/plaudit.db
RUN useradd --system --uid 10001 --no-create-home plaudit \
    && install --directory --owner=plaudit --group=plaudit /data
COPY --from=build /opt/plaudit /opt/plaudit
COPY --from=build --chown=plaudit:plaudit /var/cache/plaudit /var/cache/plaudit
USER plaudit
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --start-period=30s --interval=15s --timeout=5s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=3)"]
ENTRYPOINT ["plaudit"]
CMD ["serve"]
