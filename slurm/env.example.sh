# shellcheck shell=bash
# Settings of a site, sourced by the scripts of this folder: copy to env.sh beside your jobs, or name it by
# SHARDGPT_ENV. Everything here is an example; keep what your site needs.

# module load gcc openmpi hdf5 cuda nccl
# export SHARDGPT_BIN=$HOME/shardgpt/bin

# Launcher. The default is: srun --mpi=pmix --kill-on-bad-exit=1
# export SHARDGPT_LAUNCH='mpirun --bind-to none'          # Open MPI's own; it knows the nodes of the job
# export SHARDGPT_LAUNCH='ibrun'                          # TACC
# export SHARDGPT_LAUNCH='srun --mpi=cray_shasta --kill-on-bad-exit=1 --cpu-bind=cores'

# Open MPI
# export OMPI_MCA_io=^ompio                               # ROMIO instead of OMPIO, where checkpoints read back wrong
# export UCX_NET_DEVICES=mlx5_0:1                         # the fabric's device, where several are seen

# HDF5: file systems without locks
# export HDF5_USE_FILE_LOCKING=FALSE

# NCCL
# export NCCL_SOCKET_IFNAME=hsn0                          # the interface for the first contact
# export NCCL_NET='AWS Libfabric' FI_PROVIDER=cxi         # Slingshot: without its plug-in NCCL falls back to TCP
# export NCCL_DEBUG=WARN
