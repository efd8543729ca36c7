"""An S3 server with a bucket `lab`, which says its port and serves until its input ends.

Arguments: nothing, or the files of a certificate and of its key, with which it speaks TLS.
"""
import os
import sys
import threading

os.environ.update(AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret", AWS_DEFAULT_REGION="us-east-1")

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

tls = tuple(sys.argv[1:3]) or None
application = DomainDispatcherApplication(create_backend_app)
server = make_server("127.0.0.1", 0, application, threaded=True, ssl_context=tls)
threading.Thread(target=server.serve_forever, daemon=True).start()
# The certificate is the test's own: whether clients trust it is not asked here.
address = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
boto3.client("s3", endpoint_url=address, verify=False).create_bucket(Bucket="lab")
print(server.server_port, flush=True)
sys.stdin.read()
server.shutdown()
