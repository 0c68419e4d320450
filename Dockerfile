# Two images of a production Weir: `web` serves pages and the API, `worker` does the work and runs Spark.
FROM python:3.11-slim-bookworm AS web-environment
WORKDIR /opt/weir
COPY requirements-web.lock ./
RUN python -m venv .venv && .venv/bin/pip install --no-cache-dir --require-hashes --no-deps -r requirements-web.lock

FROM python:3.11-slim-bookworm AS worker-environment
WORKDIR /opt/weir
COPY requirements.lock ./
RUN python -m venv .venv && .venv/bin/pip install --no-cache-dir --require-hashes --no-deps -r requirements.lock

FROM python:3.11-slim-bookworm AS documentation
WORKDIR /opt/weir
COPY requirements-docs.lock ./
RUN python -m venv .venv && .venv/bin/pip install --no-cache-dir --require-hashes --no-deps -r requirements-docs.lock
COPY webapp/site/docs webapp/site/docs
COPY static static
RUN .venv/bin/mkdocs build --quiet --config-file webapp/site/docs/mkdocs.yml

FROM python:3.11-slim-bookworm AS code
WORKDIR /opt/weir
COPY manage.py ./
COPY ingest ingest
COPY spark_jobs spark_jobs
COPY webapp webapp
COPY templates templates
COPY static static
COPY --from=documentation /opt/weir/webapp/site/docs/site webapp/site/docs/site
# A checkout may be its owner's alone, who is nobody in the image.
RUN chmod -R a+rX .

FROM python:3.11-slim-bookworm AS base
RUN groupadd --gid 10001 weir && useradd --create-home --uid 10001 --gid 10001 weir \
    && install -d -m 700 -o weir -g weir /var/lib/weir
WORKDIR /opt/weir
ENV PATH=/opt/weir/.venv/bin:$PATH \
    PYTHONPATH=/opt/weir \
    PYTHONUNBUFFERED=1 \
    DJANGO_SETTINGS_MODULE=webapp.config.settings \
    WEIR_HOME=/var/lib/weir
VOLUME /var/lib/weir

FROM base AS worker
# Spark is a Java program, and its scripts ask for ps.
# Without versions: Debian's archive has the newest of a release alone, so that a build with yesterday's fails the day a hole is mended.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/*
COPY --from=worker-environment /opt/weir/.venv .venv
COPY --from=code /opt/weir ./
ENV PYSPARK_PYTHON=/opt/weir/.venv/bin/python \
    SPARK_HOME=/opt/weir/.venv/lib/python3.11/site-packages/pyspark
# By number, since Kubernetes asks whether it is root and knows no names of the image.
USER 10001:10001

FROM base AS web
COPY --from=web-environment /opt/weir/.venv .venv
COPY --from=code /opt/weir ./
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["python", "-m", "webapp.launch.web", "--bind", "0.0.0.0:8000", "--processes", "4", "--threads", "4"]
