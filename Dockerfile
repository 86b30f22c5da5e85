# Steps and Beam workers: docker build -t keras-bert-edge .
# With CUDA: docker build --build-arg LOCKS="requirements.lock requirements-cuda.lock" -t keras-bert-edge:cuda .
FROM debian:bookworm-slim

# The newest versions of the release: it changes them for security alone.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*

# Steps of Kubernetes may run as any user, whose home may not be there.
ENV PATH="/opt/venv/bin:$PATH" PYTHONSAFEPATH="1" HOME="/tmp" TF_CPP_MIN_LOG_LEVEL="2"
RUN python3 -m venv /opt/venv

WORKDIR /opt/source
COPY requirements*.lock ./
ARG LOCKS="requirements.lock"
RUN for lock in $LOCKS; do pip install --no-cache-dir --no-deps --require-hashes -r "$lock" || exit 1; done

COPY pyproject.toml setup.py README.md LICENSE keras_bert_edge.py ./
COPY keras_bert ./keras_bert
COPY components ./components
COPY pipeline ./pipeline
RUN pip install --no-cache-dir --no-deps --no-build-isolation . && rm -rf build ./*.egg-info

USER 1000:1000
WORKDIR /tmp
CMD ["keras-bert-edge", "--help"]
