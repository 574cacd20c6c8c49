# llrkit as a program: docker build -t llrkit . && docker run --rm -v "$PWD:/data" llrkit evaluate scores.csv
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
RUN python -m venv /opt/llrkit \
    && /opt/llrkit/bin/pip install --no-cache-dir --constraint constraints.txt ".[all]"

FROM python:3.13-slim
COPY --from=build /opt/llrkit /opt/llrkit
# files it writes belong to nobody in particular; --user "$(id -u)" makes them yours
RUN useradd --create-home --uid 1000 llrkit
ENV PATH=/opt/llrkit/bin:$PATH \
    PYTHONUNBUFFERED=1
USER 1000
WORKDIR /data
ENTRYPOINT ["llrkit"]
CMD ["--help"]
