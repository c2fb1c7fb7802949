"""Quality gates: failure conditions such as `correctness@multi_hop.low < 0.7`, on a run or on a comparison."""
