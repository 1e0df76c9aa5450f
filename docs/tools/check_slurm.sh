#!/bin/sh
# Installs Slurm from Debian's packages on this host, as a controller and two nodes, and runs the
# checks of engine=slurm on it: as root, on a machine or container that is yours alone.
#
#   docs/tools/check_slurm.sh | tee docs/results/distributed/slurm.txt
#
# What follows it is given to pytest: `-k limit` for one of the checks.
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
place=${SLURM_PLACE:-/tmp/bnnbench-slurm}

command -v slurmctld > /dev/null || {
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends slurmctld slurmd slurm-client munge > /dev/null
}
mkdir -p "$place/state" "$place/n1" "$place/n2" /run/munge
chown munge: /run/munge

host=$(hostname)
cat > /etc/slurm/slurm.conf << CONF
ClusterName=check
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=5
JobRequeue=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MinJobAge=20
SchedulerParameters=sched_interval=2,bf_interval=2
StateSaveLocation=$place/state
SlurmctldPidFile=$place/slurmctld.pid
SlurmctldLogFile=$place/slurmctld.log
SlurmdSpoolDir=$place/%n
SlurmdPidFile=$place/%n.pid
SlurmdLogFile=$place/%n.log
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17001 CPUs=1 RealMemory=8000 State=UNKNOWN
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17002 CPUs=1 RealMemory=8000 State=UNKNOWN
PartitionName=cpu Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=n1,n2 MaxTime=INFINITE State=UP PriorityTier=10
CONF

pgrep -x munged > /dev/null || runuser -u munge -- /usr/sbin/munged
for word in "slurmctld" "slurmd -N n1" "slurmd -N n2"; do
    # shellcheck disable=SC2086
    pgrep -f "^/usr/sbin/$word" > /dev/null || /usr/sbin/$word
done
for _ in $(seq 30); do
    [ "$(sinfo --noheader --Node --states=idle --format=%N | sort -u | wc -l)" = 2 ] && break
    sleep 1
done

slurmctld -V
sinfo --Node --long
cd "$here"
.venv/bin/python -m pytest -m slow tests/experiment/engines/test_slurm.py -vv --no-header --tb=short "$@"
