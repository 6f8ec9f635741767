"""What happens between sweeps: priors, proportions, classifiers, numbers of topics."""
