"""Methods: one file each. A method sees training sets and hyper-parameters, never a test target."""
