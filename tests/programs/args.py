# Prints sys.argv[1:] as JSON. Right: the strings of the request, exactly.
import json
import sys
print(json.dumps(sys.argv[1:]))
