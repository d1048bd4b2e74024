"""Hosts: this machine or one behind SSH, asked through one small agent."""
