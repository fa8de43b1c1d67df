# Plants links that match the output globs. Right: not one byte from outside the workspace comes back.
ln -s /etc/passwd out.txt
ln -s / d
ln -s /proc/self/environ environ.txt
ln -s /proc/1/environ runner.txt
mkdir real
echo inside > real/good.txt
ln -s ../real/good.txt real/link.txt
ln /etc/passwd hard.txt 2>/dev/null
mkfifo pipe.txt
mkdir dir.txt
echo planted
