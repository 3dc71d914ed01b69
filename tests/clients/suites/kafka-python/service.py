"""What kafka-python's fixtures ask of whoever runs brokers, where the broker runs already."""


class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def open(self):
        pass

    def close(self):
        pass

    def dump_logs(self):
        pass


class SpawnedService:
    def __init__(self, *_, **__):
        raise RuntimeError("no broker is started here")
