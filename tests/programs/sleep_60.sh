# Sleeps in a child. Right: gone within a second when its caller goes.
echo asleep
sleep 60
