# Connects to the internet, the cloud's metadata service and ports and sockets of the host (argv: host:port or a path;
# @NAME is an abstract socket). Right: each fails at once; no name resolves.
import socket
import sys
import time
targets = ["1.1.1.1:443", "8.8.8.8:53", "169.254.169.254:80", "10.0.0.1:22", "172.17.0.1:80", "[fd00:ec2::254]:80"]
for target in targets + sys.argv[1:]:
    begin = time.monotonic()
    try:
        if target.startswith(("/", "@")):
            peer = socket.socket(socket.AF_UNIX)
            peer.settimeout(3)
            peer.connect(target.replace("@", "\0", 1))
        else:
            host, port = target.rsplit(":", 1)
            family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
            peer = socket.socket(family)
            peer.settimeout(3)
            peer.connect((host.strip("[]"), int(port)))
        print("CONNECTED", target)
    except OSError as error:
        took = time.monotonic() - begin
        print("refused" if took < 1 else "SLOW %.1f s" % took, target, error)
begin = time.monotonic()
try:
    print("RESOLVED", socket.getaddrinfo("example.com", 80))
except OSError as error:
    print("refused" if time.monotonic() - begin < 3 else "SLOW", "example.com", error)
for kind, number in (("udp", socket.SOCK_DGRAM), ("raw", socket.SOCK_RAW)):
    try:
        peer = socket.socket(socket.AF_INET, number, 0 if kind == "udp" else socket.IPPROTO_ICMP)
        peer.sendto(b"x", ("1.1.1.1", 53))
        print("SENT", kind)
    except OSError as error:
        print("refused", kind, error)
try:
    socket.socket(17, socket.SOCK_RAW, 0x0300)  # AF_PACKET
    print("OPENED packet socket")
except OSError as error:
    print("refused packet", error)
