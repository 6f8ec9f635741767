"""python -m topicx"""

from topicx.cli import main

main()
