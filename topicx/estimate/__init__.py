"""From assignments to parameters: cgs and cgsp."""
