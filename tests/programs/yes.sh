# Writes without end, as fast as it can. Right: OUTPUT_LIMIT after exactly the limit, or TIMED_OUT when nobody reads.
yes
