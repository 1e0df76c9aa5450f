# docker build -t bnnbench . && docker run --rm -v "$PWD:/work" bnnbench run method=vadam
FROM python:3.11-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN BNNBENCH_NATIVE_WHEEL=1 pip wheel --no-cache-dir --no-deps -w /wheels /source

FROM python:3.11-slim
COPY --from=build /wheels /wheels
COPY constraints.txt /
RUN pip install --no-cache-dir -c /constraints.txt torch==2.13.0 \
    && pip install --no-cache-dir -c /constraints.txt /wheels/*.whl
WORKDIR /work
ENTRYPOINT ["bnnbench"]
